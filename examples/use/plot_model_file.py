"""
Train, save and load a model
============================

``ancr train`` writes one ``.npz`` file without pickled objects, ``ancr predict`` reads it. The same file can be read in
Python, in a web service for instance; no code from it is run.
"""

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine

frame = load_wine(as_frame=True).frame
folder = Path(tempfile.mkdtemp())
frame.iloc[::2].to_csv(folder / "wine.csv", index=False)
frame.iloc[1::2].drop(columns="target").to_csv(folder / "new.csv", index=False)


def ancr(*arguments):
    """Run a command as a shell would."""
    done = subprocess.run(
        [sys.executable, "-m", "ancr", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


print(ancr("train", "wine.csv", "--label", "target", "-o", "model.npz"))
ancr("predict", "model.npz", "new.csv", "-o", "answers.csv")
print(f"{(folder / 'model.npz').stat().st_size / 1024:.0f} kB")

# %%
# Each answer comes with its probability, its margin and the samples that decided.
answers = pd.read_csv(folder / "answers.csv")
answers.iloc[:4, :6]

# %%
# In a service: load the model once, use it many times.
from ancr.samples.model_file import Model

model = Model.load(folder / "model.npz")
fitted = model.build()
print(fitted.predict(frame.iloc[1:5].drop(columns="target").to_numpy()))

# %%
figure, ax = plt.subplots(layout="constrained")
for label, group in answers.groupby("label"):
    ax.hist(group["probability"], bins=20, range=(0.3, 1), alpha=0.6, label=f"class {label}")
ax.set(xlabel="probability of the answer", ylabel="new samples", title="wine: answers of a model file")
ax.legend()
