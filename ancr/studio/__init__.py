"""``ancr studio``: a local page where people see, label and correct; see ``docs/studio.md``."""
