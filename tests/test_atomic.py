"""Files are complete or absent, and nothing is left behind."""

import errno
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from ancr._core.files import atomic_folder, atomic_path, check_folder, write_text


def drafts(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".ancr-draft-")]


def test_an_error_keeps_the_old_file(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_path(path) as draft:
        draft.write_text(f"new {1 / 0}")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["answers.csv"]
    write_text(path, "new")
    assert path.read_text() == "new"


def write_forever(folder):
    """A process that holds a draft in the folder; gives it once the draft is there."""
    code = "import sys, time; from ancr._core.files import atomic_path\nwith atomic_path(sys.argv[1]): time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code, folder / "other.npz"])
    while not drafts(folder):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.1)  # the lock follows the file
    return process


def test_drafts_of_killed_processes_are_deleted_and_only_those(tmp_path):
    process = write_forever(tmp_path)
    try:
        write_text(tmp_path / "mine.txt", "x")
        assert len(drafts(tmp_path)) == 1  # its process is running
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(drafts(tmp_path)) == 1
    write_text(tmp_path / "mine.txt", "x")
    assert drafts(tmp_path) == []


def test_a_full_disk_names_the_file_asked_for(tmp_path):
    path = tmp_path / "big.txt"
    path.write_text("old")
    code = f"""
        import resource, signal
        from ancr._core.files import write_text
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}))
        try:
            write_text({str(path)!r}, "x" * 100_000)
        except OSError as error:
            print(error.errno, error.filename)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert run.stdout == f"{errno.EFBIG} {path}\n"
    assert path.read_text() == "old"
    assert drafts(tmp_path) == []


def test_folders_are_checked_first(tmp_path):
    (tmp_path / "file").write_text("x")
    for path, message in (("no/m.npz", "the folder .*no does not exist"), ("file/m.npz", "file is not a folder")):
        with pytest.raises(OSError, match=rf"{path} cannot be written: .*{message}"):
            check_folder(tmp_path / path)
        with pytest.raises(OSError, match=path), atomic_path(tmp_path / path):
            pytest.fail("there is no such folder")
    check_folder(tmp_path / "no" / "such" / "m.npz", create=True)
    with pytest.raises(NotADirectoryError):
        check_folder(tmp_path / "file" / "sub" / "m.npz", create=True)


def test_links_stay_links_and_devices_devices(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert (real.read_text(), link.is_symlink()) == ("new", True)
    write_text("/dev/null", "x")
    assert not os.path.isfile("/dev/null")


def test_folders_are_complete_or_absent(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "block") as draft:
        (draft / "part").write_text(f"{1 / 0}")
    assert list(tmp_path.iterdir()) == []
    with atomic_folder(tmp_path / "block") as draft:
        (draft / "part").write_text("whole")
        with atomic_folder(tmp_path / "other"):  # whose process is running: it is kept
            assert len(drafts(tmp_path)) == 2
    assert (tmp_path / "block" / "part").read_text() == "whole"
    (tmp_path / ".ancr-draft-0123").mkdir()  # of a process that was killed
    with atomic_path(tmp_path / "file") as draft:
        draft.write_text("new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["block", "file", "other"]
