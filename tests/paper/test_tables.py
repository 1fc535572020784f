"""From cells to tables: means, printed numbers, marks, formats."""

import csv
import io
from dataclasses import replace

import pytest

from ancr.comparison.table_formats import to_csv, to_latex, to_markdown, to_rich, write_tables
from ancr.paper.paper_sources import paper_source
from ancr.paper.paper_tables import make_tables
from ancr.paper.published import PRINTED, QUOTED, printed
from tests.comparison.stand_ins import Blobs, cell


class Large(Blobs):
    """A large set on features that are not the paper's."""

    name, title, features = "cub200", "CUB", "Some_net (substitute)"
    settings, typical = ("official",), "official"


def usps_tables():
    cells = [cell(accuracy=91.0), cell(accuracy=93.0, draw=1), cell("CRC", 89.0), cell("NSC", 91.2, setting="N=100")]
    return make_tables([paper_source("usps")], cells)


def test_mean_sd_printed_and_difference():
    table, _ = usps_tables()
    entry = next(row for row in table.rows if row.method == "ANCR").entries["N=50"]
    assert (entry.mean, entry.printed) == (92.0, 92.1)
    assert entry.sd == pytest.approx(2**0.5)
    assert entry.texts() == ("92.00 ± 1.41", "92.1", "−0.10")
    single = next(row for row in table.rows if row.method == "CRC").entries["N=50"]
    assert single.texts() == ("89.00", "89.8", "−0.80")


def test_ablation_has_its_methods_alone():
    _, ablation = usps_tables()
    assert ablation.name == "usps_ablation"
    assert [row.method for row in ablation.rows] == ["CRC", "ANCR"]


def test_quoted_rows_and_substitute_features_are_marked():
    cells = [cell(dataset="cub200", features="Some_net (substitute)", setting="official")]
    table, ablation = make_tables([Large()], cells)
    assert {row.method for row in table.rows if row.quoted} == set(QUOTED["cub200"])
    assert "Some_net (substitute)" in table.notes[0]
    assert not any(row.quoted for row in ablation.rows)
    assert "| POOF | quoted | – | 56.9 | – |" in to_markdown(table.plain())
    assert r"Some\_net (substitute)" in to_latex(table.plain())


def test_cells_on_other_features_stay_out():
    table = make_tables([paper_source("usps")], [cell(features="PCA")])[0]
    assert table.rows == []


def test_a_data_set_that_is_not_in_the_paper_has_no_empty_columns():
    table = make_tables([Blobs()], [cell(dataset="blobs", features="vectors")])[0]
    assert table.plain().header == ["method", "protocol", "N=50", "N=100"]
    assert table.plain().lines == [["ANCR", "paper", "90.00", "–"]]


def test_csv_holds_the_numbers_in_full():
    table = usps_tables()[0]
    rows = list(csv.DictReader(io.StringIO(to_csv(table.plain()))))
    assert rows[0] == {
        "method": "ANCR", "protocol": "paper", "setting": "N=50", "mean": "92.0", "sd": "1.414214", "printed": "92.1",
        "difference": "-0.1", "quoted": "0",
    }  # fmt: skip


def test_formats_escape_what_they_must(tmp_path):
    cells = [cell("A|B_[red]&", dataset="blobs", features="vectors")]
    table = make_tables([Blobs()], cells)[0]
    assert r"A\|B_[red]&" in to_markdown(table.plain())
    assert r"A\textbar{}B\_[red]\&" in to_latex(table.plain())
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120)
    console.print(to_rich(table.plain()))
    assert "A|B_[red]&" in console.file.getvalue()
    assert {path.name for path in write_tables([table.plain()], tmp_path)} == {"blobs.md", "blobs.csv", "blobs.tex"}


def test_no_name_becomes_markup():
    table = replace(make_tables([Blobs()], [cell(dataset="blobs", features="vectors")])[0], title="a<img src=x>|b\nc")
    assert to_markdown(table.plain()).startswith("## a&lt;img src=x&gt;\\|b c\n")
    assert r"\caption{a\textless{}img src=x\textgreater{}\textbar{}b c." in to_latex(table.plain())


def test_printed_numbers_cover_the_papers_tables():
    assert {name: len(rows) for name, rows in PRINTED.items()} == dict.fromkeys(PRINTED, 12)
    assert printed("ar", "SA-CRC", "dim=300") == 92.5
    assert printed("digits", "ANCR", "N=50") is None
    values = [value for rows in PRINTED.values() for by in rows.values() for value in by.values()]
    assert len(values) == 12 * (3 + 4 + 4)
    assert all(60 < value < 100 for value in values)
    # The paper's claim: ANCR is best or shares the first place in every column.
    for rows in PRINTED.values():
        for setting, value in rows["ANCR"].items():
            assert value >= max(by[setting] for by in rows.values())
