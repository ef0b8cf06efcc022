"""Plots of a report: valid and reproducible files, and no plot without values."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib as mpl
import matplotlib.image
import pytest
from matplotlib.figure import Figure

from pytest_tablebench.papers.canvas import labelled, line_chart
from pytest_tablebench.papers.plots import PLOTS, WHOLE, write_plots
from tests.support.matrix import reduced
from tests.support.paper_analysis import analysis, nothing, value

SVG = "{http://www.w3.org/2000/svg}svg"
EMPTY = {
    *("win_rates_perturbation", "win_rates_perturbation_by_dataset"),
    *("skills", "complexity_tokens"),
}
"""Figures without a value in the analysis."""


FIRST, SECOND = r"$\frac{1$ -- ]]> <script>", "模型 \x1b[31m\u202e " + "z" * 300
"""Names that are drawn unchanged: no mathematics in dollar signs, no missing glyphs, no markup."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    return write_plots(analysis(FIRST, SECOND), tmp_path_factory.mktemp("plots"))


def test_every_plot_with_values_is_drawn(drawn):
    assert set(drawn) == set(PLOTS)
    assert {name for name, files in drawn.items() if not files} == EMPTY
    for name, files in drawn.items():
        assert [path.name for path in files] in ([], [f"{name}.png", f"{name}.svg"])


@pytest.mark.parametrize("name", sorted(set(PLOTS) - EMPTY))
def test_files_are_valid_and_not_blank(drawn, name):
    png, svg = drawn[name]
    pixels = matplotlib.image.imread(png)
    assert min(pixels.shape[:2]) > 200
    assert (pixels[..., :3] < 0.5).any()
    root = ET.parse(svg).getroot()
    assert root.tag == SVG
    assert not [node for node in root.iter() if str(node.tag).endswith("script")]


def test_the_same_analysis_gives_the_same_bytes(drawn, tmp_path):
    again = write_plots(
        analysis(FIRST, SECOND), tmp_path, reduced(PLOTS, *sorted(set(PLOTS) - EMPTY)[::4])
    )
    assert any(again.values())
    for name, files in again.items():
        for first, second in zip(drawn[name], files, strict=True):
            assert first.read_bytes() == second.read_bytes(), first.name


def test_different_values_give_different_bytes(drawn, tmp_path):
    other = analysis(FIRST, SECOND)
    other["performance"]["by_model"][FIRST] = value(0.9)
    again = write_plots(other, tmp_path, ["min_max"])
    for first, second in zip(drawn["min_max"], again["min_max"], strict=True):
        assert first.read_bytes() != second.read_bytes()


def test_an_svg_contains_no_date(drawn):
    for files in drawn.values():
        for path in files[1:]:
            assert "<dc:date>" not in path.read_text(encoding="utf-8")


def test_the_users_matplotlib_settings_are_ignored_and_unchanged(drawn, tmp_path):
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        before = dict(mpl.rcParams)
        again = write_plots(analysis(FIRST, SECOND), tmp_path, ["min_max"])
        assert dict(mpl.rcParams) == before
    assert again["min_max"][1].read_bytes() == drawn["min_max"][1].read_bytes()


def test_labels_are_short_and_distinct():
    long = "m" * 50
    labels = labelled(["gpt-4o", long + "1", long + "2"])
    assert labels[0] == "gpt-4o"
    assert len(set(labels)) == 3
    assert max(map(len, labels)) < 40
    assert labelled(["表"]) == ["\\u8868"]


def test_a_plot_without_values_is_not_drawn(tmp_path):
    few, tree = nothing("fewer than two models"), analysis()
    tree["separability"] = {"by_dataset": {"d1": few}, "pooled": few, "stratified": few}
    tree["dataset_agreement"] = {"tau_b": {"d1": {"d1": few}}, "mean_off_diagonal": {"d1": few}}
    tree["w_growth"] = {"d1": {"1": few}}
    tree["kendall_w"] = {"by_dataset": {"d1": few}, "benchmark": few}
    tree["further"] = {
        "performance_spread": {"alpha": few},
        "impact_by_perturbation": {},
        "open_closed": {"performance": {"open": {"all": value(0.5)}}, "robustness": {}},
    }
    tree["formats"] = {"alpha": {"latex": [None], "html": []}}
    tree["configurations_vs_examples"] = []
    tree["perturbation_impact"] = nothing("no perturbation beside an unperturbed baseline")
    tree["win_rates"] = dict.fromkeys(tree["win_rates"], nothing("fewer than two alternatives"))
    for part in ("performance", "robustness"):
        tree[part]["by_model"] = {"alpha": nothing("no scores")}
        tree[part]["by_model_dataset"] = {"alpha": {"d1": nothing("no scores")}}
    tree["min_max"]["by_model"] = {"alpha": {"max": few, "min": few}}
    tree["difficulty"] = {"by_example": {}, "histogram": {"d1": [0, 0]}, "score_histogram": {}}
    assert set(map(tuple, write_plots(tree, tmp_path).values())) == {()}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("count", "datasets"), reduced([(1, 1), (40, 40)], (1, 1), (40, 12)))
def test_plots_of_many_models_and_datasets_fit(count, datasets, tmp_path):
    tree = analysis()
    models = [f"model-{i}" for i in range(count)]
    tree["performance"]["by_model"] = {name: value(i / 50) for i, name in enumerate(models)}
    tree["robustness"]["by_model"] = {name: value(0.5) for name in models}
    tree["difficulty"]["histogram"] = {f"d{i}": [1, 2] for i in range(datasets)}
    names = ["performance_robustness", "difficulty_histogram"]
    files = write_plots(tree, tmp_path, names)
    for name in names:
        assert matplotlib.image.imread(files[name][0]).shape[0] < 4000


def test_matplotlib_is_not_loaded_before_a_plot_is_drawn():
    code = (
        "import sys, pytest_tablebench.papers.report\n"
        "print(sorted({'matplotlib', 'numpy', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_point_says_how_many_datasets_it_has():
    entry = {"d1": value(0.5), "d2": value(0.7)}
    both = {"by_dataset": entry, "mean_over_datasets": value(0.6)}
    single = {"by_dataset": {"d1": value(0.8)}, "mean_over_datasets": value(0.8)}
    points = [{"q": 1, "e": 3, **both}, {"q": 1, "e": 12, **single}, {"q": 2, "e": 3, **single}]
    figure = Figure()
    draw = PLOTS["configurations_vs_examples"]
    assert draw(figure, {"configurations_vs_examples": points}, {"legend": "q"})
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["3\n(1-2)", "12\n(1)"]


def test_only_the_line_of_the_whole_benchmark_is_black():
    figure = Figure()
    lines = {f"d{number}": [(1.0, 0.5), (2.0, 0.6)] for number in range(12)}
    words = {"title": "title", "legend": "dataset"}
    line_chart(figure, lines | {WHOLE: [(1.0, 0.7)]}, words, black=WHOLE)
    drawn = {str(line.get_label()): line for line in figure.axes[0].get_lines()}
    black = [name for name, line in drawn.items() if line.get_color() == "#000000"]
    assert black == [WHOLE]
    assert drawn[WHOLE].get_linestyle() == "-"
