"""Run status logging: every ended sync run becomes a line of <root>/runs.jsonl."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

RUN_LOG = "runs.jsonl"


def run_log_sensors(root: Path, jobs: Sequence[Any]) -> list[dg.SensorDefinition]:
    """Build the sensors that log success, failure and cancellation of ``jobs``."""
    return [
        _sensor(root, jobs, status)
        for status in (
            dg.DagsterRunStatus.SUCCESS,
            dg.DagsterRunStatus.FAILURE,
            dg.DagsterRunStatus.CANCELED,
        )
    ]


def _sensor(root: Path, jobs: Sequence[Any], status: dg.DagsterRunStatus) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        name=f"log_{status.value.lower()}",
        run_status=status,
        monitored_jobs=list(jobs),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
    )
    def log_run(context: dg.RunStatusSensorContext) -> None:
        append_run(
            root,
            run_id=context.dagster_run.run_id,
            job=context.dagster_run.job_name,
            status=status.value,
            message=context.dagster_event.message or "",
        )

    return log_run


def append_run(root: Path, **fields: str) -> None:
    """Append one run to the log, with the time it was noticed (UTC)."""
    root.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"noticed": datetime.now(UTC).isoformat(timespec="seconds"), **fields})
    with (root / RUN_LOG).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
