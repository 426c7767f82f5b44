"""`make bench`: every number of docs/performance.md, as ratios in one run. Name parts to run only those."""

import sys

from bench.table import Result, print_table


def main(only: list[str]) -> int:
    from bench import (
        agent_step,
        claim_time,
        coverage,
        cycles,
        judged_again,
        makespan,
        mutation,
        overhead,
        prompt_tokens,
        proofs,
        receipts,
        sandbox_start,
        startup,
        task_graph,
        write_pipeline,
    )

    parts = {
        "overhead": lambda: [overhead.measure(0.1), overhead.measure(1.0)],
        "proofs": proofs.measure,
        "cycles": cycles.measure,
        "claims": claim_time.measure,
        "makespan": makespan.measure,
        "startup": startup.measure,
        "writes": write_pipeline.measure,
        "sandbox": sandbox_start.measure,
        "agent_step": agent_step.measure,
        "prompts": prompt_tokens.measure,
        "mutation": mutation.measure,
        "judged_again": judged_again.measure,
        "coverage": coverage.measure,
        "receipts": receipts.measure,
        "tasks": task_graph.measure,
    }
    results: list[Result] = []
    for name, part in parts.items():
        if not only or name in only:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            measured = part()
            for each in measured:  # at once: a part that fails later takes nothing of this with it
                print(
                    f"  {each.what}: {each.value:.2f}, wanted {each.wanted}; {each.note}", file=sys.stderr, flush=True
                )
            results += measured
    print_table(results)
    return 0 if all(result.reached for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
