"""Texts of error messages."""


def one_line(error):
    """The message of an error in one line; its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def shown(text, most=40):
    """A text of a user in a message: quoted, and not longer than a few words."""
    return repr(text if len(text) <= most else text[:most] + "…")
