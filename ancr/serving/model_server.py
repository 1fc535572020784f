"""Start a server of a trained model: bind the port, compile what it needs, answer until it is told to stop."""

from collections.abc import Callable
from pathlib import Path

from ancr._core.compiling import compiling_now
from ancr.samples.answers import Answers
from ancr.samples.model_file import Model
from ancr.serving.model_app import make_model_app
from ancr.studio.connections import bind, run_server

# Queries of the rehearsal: one alone goes another way than a block of them.
_REHEARSED = (1, 100)


def serve_model(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str = "",
    most_bytes: int = 2**24,
    say: Callable[[str], object] = print,
    weights: str | None = None,
) -> None:
    """Serve a model until SIGTERM or Ctrl-C; requests that are on their way are answered first.

    Parameters
    ----------
    path : path-like
        The model.
    host, port : str and int
        The address to listen on.
    token : str
        What requests must bring; empty lets everyone in.
    most_bytes : int
        The largest body of a request.
    say : callable
        Prints a line.
    weights : str or None
        Weights of the network that turns images into vectors, where they are not those of the training.
    """
    try:
        with bind(port, host) as listener:  # first of all: a port in use is reported before the work
            model = Model.load(path).with_weights(weights)
            answers = Answers(model)
            with compiling_now():  # not while a client waits
                for count in _REHEARSED:
                    list(answers.of(model.samples[:count], 1))
            app = make_model_app(answers, token, most_bytes)
            say(f"{path}: {model.method} on {len(model.samples)} samples of {len(answers.classes)} classes")
            say(f"Listening on http://{host}:{listener.getsockname()[1]}/predict  (Ctrl-C ends it)")
            run_server(app, listener, patience=10)
    except KeyboardInterrupt:  # before the server runs
        pass
