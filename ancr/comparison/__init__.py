"""Methods compared on the same splits of any data: run, judge, answer, show."""
