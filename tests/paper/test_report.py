"""Findings, order of methods, and the page."""

import re

import pytest

from ancr.paper.experiment import Report
from ancr.paper.figures import draw_all
from ancr.paper.findings import make_findings, make_rankings
from ancr.paper.paper_sources import paper_source
from tests.comparison.stand_ins import Blobs, cell


@pytest.fixture(scope="module")
def usps_cells():
    admm = {"solver": "admm", "max_iter": 5}
    return [
        cell("NSC", 91.2),
        cell("CRC", 89.0),
        cell("ANCR", 87.0, params=admm, certified=0.0),
        cell("ANCR", 91.5, protocol="exact", certified=0.99),
    ]


def test_findings_are_what_the_cells_say(usps_cells):
    sources = [paper_source("usps")]
    findings = make_findings(sources, usps_cells, make_rankings(sources, usps_cells))
    text = "\n".join(findings)
    assert "1 of 3 numbers are within 0.15 points of the printed ones" in text
    assert "-5.10 (ANCR, N=50)" in text
    assert "stopped early, scores 87.00; the certified optimum of the same model scores 91.50" in text
    assert "highest accuracy is 91.50 %, by ANCR (exact protocol)." in text
    assert "99 of 100 codes are certified optima" in text


def test_ranking_is_ours_beside_the_papers(usps_cells):
    (ranking,) = make_rankings([paper_source("usps")], usps_cells)
    assert [name for name, _ in ranking.ours] == ["NSC", "CRC", "ANCR"]
    assert [name for name, _ in ranking.printed] == ["ANCR", "NSC", "CRC"]
    assert ranking.agreement == pytest.approx(-1 / 3)
    assert make_rankings([Blobs()], usps_cells) == []


def test_page_escapes_every_value(usps_cells, monkeypatch):
    evil = "<script>alert(1)</script>"
    report = Report(evil, [paper_source("usps")], usps_cells, [], f"ancr {evil}", notes=[evil])
    monkeypatch.setattr(Report, "findings", [evil])
    page = report.html()
    assert evil not in page
    assert page.count("&lt;script&gt;alert(1)") == 5


def test_page_needs_no_network(tmp_path, usps_cells):
    drawings = draw_all([Blobs()], tmp_path)
    report = Report("Blobs", [paper_source("usps")], usps_cells, drawings, "ancr reproduce usps")
    report.write(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure ") == len(drawings) >= 4
    assert page.count('role="img"') >= 2 * len(drawings)  # on the page, and as a file to download
    references = re.findall(r'(?:src|href)="([^"#][^"]*)"', page)
    assert "<figure " in page
    assert all(reference.startswith("data:") for reference in references)
    assert "92.1 (−5.10)" in page
