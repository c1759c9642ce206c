"""Tables and document say what the results say, and no more."""

from bench import document
from bench.goals import goals
from bench.results import Results
from bench.tables import WON, Table, drain_table, enqueue_table, latency_table, tables
from tests.bench.samples import drained, record


def verdicts(results: Results) -> dict[str, str]:
    """Goal → verdict, by the first word or two."""
    return {goal.name: goal.verdict for goal in goals(results)}


def test_full_results_meet_every_goal(full_results: Results) -> None:
    assert set(verdicts(full_results).values()) == {"met"}


def test_what_was_not_measured_is_neither_met_nor_missed(results: Results) -> None:
    assert set(verdicts(results).values()) == {"not measured"}


def test_a_goal_is_missed_by_its_median(results: Results) -> None:
    for rate in (55_000, 56_001, 200_000):
        results.add(drained("ours", rate))
    results.add(drained("bullmq-c4", 16_001))

    first = goals(results)[0]

    assert (first.reached, first.wanted, first.verdict) == ("3.50 ×", "≥ 3.50 ×", "missed")


def test_depth_counts_in_both_directions(full_results: Results) -> None:
    for _ in range(9):
        full_results.add(record("depth/1000000", wall_us=15.0, worker_us=1.0, script_us=1.0))

    depth = goals(full_results)[-1]

    assert (depth.reached, depth.verdict) == ("25 %", "missed")


def test_noisy_runs_stand_in_only_where_no_run_is_clean(results: Results) -> None:
    results.add(drained("ours", 1_000, noise_cores=0.9))
    assert drain_table(results).rows[0][2] == "1,000 [1,000 – 1,000]"

    results.add(drained("ours", 2_000))

    row = drain_table(results).rows[0]
    assert row[2] == "2,000 [2,000 – 2,000]"
    assert row[-1] == "1‡ (1, 0)"


def test_lost_tasks_of_noisy_runs_are_told_too(results: Results) -> None:
    results.add(drained("huey", 1_000, noise_cores=0.9, lost=3))
    results.add(drained("huey", 1_000))

    assert drain_table(results).rows[0][-2] == "3, 0"


def test_ratios_compare_medians(full_results: Results) -> None:
    rows = {row[0]: row for row in drain_table(full_results).rows}

    assert rows["ForgeQueue, default settings"][4:6] == ("3.75", "50 %")
    assert rows["Huey, 4 processes"][4:6] == ("0.50", "7 %")


def test_a_figure_of_a_peer_that_is_better_than_ours_is_marked(full_results: Results) -> None:
    for _ in range(5):
        full_results.add(record("latency/huey", p50_ms=0.6, p99_ms=9.0, max_ms=10.0, tasks=200))

    rows = {row[0]: row for row in latency_table(full_results).rows}

    assert WON not in "".join(rows["ForgeQueue, default settings"])
    assert rows["Huey, 4 processes"][1:3] == ("0.60 [0.60 – 0.90] ◆", "9.00 [9.00 – 9.00]")
    assert WON not in rows["Floor: a bare loop over the scripts"][1]
    more = {row[0]: row for row in enqueue_table(full_results).rows}
    assert more["BullMQ, concurrency 4"][1:5] == (
        "10,000 [10,000 – 10,000] ◆",
        "1.11",
        "30,000 [30,000 – 30,000]",
        "0.60",
    )


def test_a_table_is_aligned_for_the_terminal_and_piped_for_the_document() -> None:
    table = Table("Title", ("name", "figure"), [("a", "1"), ("long name", "22")])

    assert table.text().splitlines()[1:] == [
        "name       figure",
        "---------  ------",
        "a               1",
        "long name      22",
    ]
    assert table.markdown().splitlines()[1:3] == ["|---|---:|", "| a | 1 |"]


def test_the_document_holds_every_table_and_the_versions(full_results: Results) -> None:
    text = document.render(full_results)

    for table in tables(full_results):
        assert table.markdown() in text
    assert "2026-12-01" in text
    assert "bullmq 5.81.5" in text
    assert "$" not in text
    assert "- A peer, 4 workers: left out, node was not found" in text


def test_a_small_run_is_not_for_the_document(full_results: Results) -> None:
    assert "5 rounds" in document.shortcomings(full_results)


def test_a_run_without_latency_is_not_for_the_document(results: Results) -> None:
    results.header = {**results.header, "rounds": 5}
    results.add(drained("ours", 1))

    assert document.shortcomings(results) == "enqueue, enqueue-bulk, latency, idle, depth, due not measured"
