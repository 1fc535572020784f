"""The cache of deep features: what is found again, what is not, and what survives a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ancr.features import DeepFeatures
from ancr.features.deep import BATCHES_PER_BLOCK
from tests.datasets.trees import write_image

pytestmark = pytest.mark.all

BATCH = 8
BLOCK = BATCH * BATCHES_PER_BLOCK


def tiny(cache, **options):
    return DeepFeatures("test_resnet", **{"weights": None, "cache_dir": cache, "batch_size": BATCH, **options})


def test_second_run_computes_nothing(timm, paths, tmp_path):
    first, second = tiny(tmp_path / "cache"), tiny(tmp_path / "cache")
    features = first.transform(paths)
    np.testing.assert_array_equal(second.transform(paths[::-1]), features[::-1])
    assert (first.n_computed_, first.n_cached_) == (10, 0)
    assert (second.n_computed_, second.n_cached_) == (0, 10)


def test_only_what_is_missing_is_computed(timm, paths, tmp_path):
    tiny(tmp_path / "cache").transform(paths[:6])
    rest = tiny(tmp_path / "cache")
    np.testing.assert_allclose(rest.transform(paths), tiny(None).transform(paths), atol=1e-6)
    assert rest.n_computed_ == 4


def test_content_is_the_key_not_the_name(timm, paths, tmp_path):
    tiny(tmp_path / "cache").transform(paths)
    moved = Path(paths[0]).rename(tmp_path / "elsewhere.jpg")
    renamed = tiny(tmp_path / "cache")
    renamed.transform([moved])
    assert renamed.n_computed_ == 0
    write_image(Path(paths[1]), seed=99)
    changed = tiny(tmp_path / "cache")
    changed.transform(paths[1:2])
    assert changed.n_computed_ == 1


def test_equal_images_are_computed_once(timm, paths, tmp_path):
    transformer = tiny(tmp_path / "cache")
    features = transformer.transform([paths[0]] * 5)
    assert transformer.n_computed_ == 1
    np.testing.assert_array_equal(features, features[[0] * 5])


@pytest.mark.parametrize(
    "other", [{"layer": "conv"}, {"random_state": 1}, {"image_size": 96}, {"precision": "bfloat16"}]
)
def test_another_network_is_another_key(timm, paths, tmp_path, other):
    tiny(tmp_path / "cache").transform(paths)
    transformer = tiny(tmp_path / "cache", **other)
    transformer.transform(paths)
    assert transformer.n_computed_ == 10
    identities = [json.loads(file.read_text()) for file in (tmp_path / "cache").glob("*/identity.json")]
    assert len(identities) == 2


def test_unreadable_images_are_remembered(timm, paths, tmp_path):
    Path(paths[2]).write_text("not an image")
    first, second = (tiny(tmp_path / "cache", on_error="nan") for _ in range(2))
    np.testing.assert_array_equal(first.transform(paths), second.transform(paths))
    assert second.n_computed_ == 0
    assert list(first.unreadable_) == list(second.unreadable_) == [paths[2]]


def test_cached_blocks_are_memory_mapped(timm, paths, tmp_path):
    from ancr.features.store import FeatureStore

    tiny(tmp_path / "cache").transform(paths)
    identity = json.loads(next((tmp_path / "cache").glob("*/identity.json")).read_text())
    store = FeatureStore(tmp_path / "cache", identity)
    assert [type(block) for block in store._blocks] == [np.memmap]


def test_damaged_block_is_computed_again(timm, paths, tmp_path):
    features = tiny(tmp_path / "cache").transform(paths)
    block = next((tmp_path / "cache").glob("*/block-*/features.npy"))
    block.write_bytes(block.read_bytes()[:200])
    again = tiny(tmp_path / "cache")
    np.testing.assert_array_equal(again.transform(paths), features)
    assert again.n_computed_ == 10


# A process of its own, to be killed.
EXTRACT = f"""
import sys
import numpy as np
from pathlib import Path
from ancr.features import DeepFeatures
images, cache, out = map(Path, sys.argv[1:])
transformer = DeepFeatures("test_resnet", weights=None, cache_dir=cache, batch_size={BATCH})
np.save(out, transformer.transform(sorted(images.iterdir())))
print(transformer.n_computed_)
"""


def start(images, cache, out):
    command = [sys.executable, "-c", EXTRACT, str(images), str(cache), str(out)]
    # one thread each: how a product is cut among threads may change its last bit
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)


def finish(process):
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return int(output)


def blocks(cache):
    return list(cache.glob("*/block-*"))


@pytest.fixture(scope="module")
def many_images(tmp_path_factory):
    """500 generated images."""
    folder = tmp_path_factory.mktemp("many")
    for i in range(500):
        write_image(folder / f"{i:03d}.jpg", i, size=(64, 64))
    return folder


def test_killed_run_is_continued(timm, many_images, tmp_path):
    undisturbed = start(many_images, tmp_path / "calm", tmp_path / "calm.npy")
    assert finish(undisturbed) == 500

    cache = tmp_path / "killed"
    process = start(many_images, cache, tmp_path / "never.npy")
    while len(blocks(cache)) < 4:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len(blocks(cache))
    assert 4 <= finished < -(-500 // BLOCK)
    assert not (tmp_path / "never.npy").exists()
    times = {block: os.stat(block / "features.npy").st_mtime_ns for block in blocks(cache)}

    assert finish(start(many_images, cache, tmp_path / "again.npy")) == 500 - finished * BLOCK
    assert all(os.stat(block / "features.npy").st_mtime_ns == stamp for block, stamp in times.items())
    calm, again = np.load(tmp_path / "calm.npy"), np.load(tmp_path / "again.npy")
    assert calm.tobytes() == again.tobytes()


def test_two_processes_at_once(timm, many_images, tmp_path):
    both = [start(many_images, tmp_path / "cache", tmp_path / f"{i}.npy") for i in range(2)]
    for process in both:
        finish(process)
    assert finish(start(many_images, tmp_path / "cache", tmp_path / "2.npy")) == 0
    results = [np.load(tmp_path / f"{i}.npy") for i in range(3)]
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
