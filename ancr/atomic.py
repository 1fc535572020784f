"""Files that are complete or absent."""

import os
import uuid
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path):
    """Yield a temporary path beside ``path`` to write to, and rename it to ``path`` if no error occurs."""
    path = Path(path)
    draft = path.with_name(f".{uuid.uuid4().hex[:8]}-{path.name}")
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
