"""Other tools over the same load: short questions, a limit of concurrent calls, from process start.

    python -m benchmarks.peers FOLDER [--questions 1000] [--connections 64]

FOLDER contains an environment for each tool to measure; other tools are left out:

    FOLDER/deepeval/bin/python     deepeval
    FOLDER/deepeval_litellm/bin/python  deepeval and litellm, which makes its calls
    FOLDER/inspect/bin/python      inspect_ai and openai
    FOLDER/lm_eval/bin/lm_eval     lm_eval[api]
    FOLDER/node/node_modules/.bin/promptfoo

Each calls a model at an OpenAI-compatible address as its own documentation describes, with its
caches, telemetry and progress display off, and compares each answer with the expected text.
deepeval evaluates existing answers, so its metric makes the calls.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import process_tree
from benchmarks.load_server import running
from benchmarks.process_tree import Cost

__all__ = ["Outcome", "compare", "measure"]

INSPECT = """
import sys
from inspect_ai import Task, eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate

url, count, connections = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
samples = [Sample(input=f"Question {n}: is it so?", target="entailed") for n in range(count)]
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match())
[log] = evaluate(
    task, model="openai/test-model", model_base_url=url, model_args={"responses_api": False},
    max_connections=connections, max_samples=connections, display="none", log_dir="logs",
)
assert log.status == "success", log.error
assert log.results.completed_samples == count
"""

DEEPEVAL = """
import sys
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

url, count, connections = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if sys.argv[4] == "litellm":
    from deepeval.models import LiteLLMModel
    model = LiteLLMModel(model="openai/test-model", base_url=url, api_key="x")

    async def ask(question):
        text, _ = await model.a_generate(question)
        return text
else:
    from openai import AsyncOpenAI
    client = AsyncOpenAI(base_url=url, max_retries=0)

    async def ask(question):
        reply = await client.chat.completions.create(
            model="test-model", messages=[{"role": "user", "content": question}])
        return reply.choices[0].message.content

class Asks(BaseMetric):
    threshold = 1.0
    async_mode = True
    async def a_measure(self, case, *args, **kwargs):
        self.score = float(await ask(case.input) == case.expected_output)
        self.success = self.score >= self.threshold
        return self.score
    def measure(self, case, *args, **kwargs):
        raise NotImplementedError
    def is_successful(self):
        return self.success
    @property
    def __name__(self):
        return "asks"

cases = [
    LLMTestCase(input=f"Question {n}: is it so?", actual_output="", expected_output="entailed")
    for n in range(count)
]
result = evaluate(
    cases, [Asks()],
    async_config=AsyncConfig(run_async=True, max_concurrent=connections, throttle_value=0),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    cache_config=CacheConfig(write_cache=False, use_cache=False),
)
assert sum(one.success for one in result.test_results) == count
"""

LM_EVAL_TASK = """
task: questions
dataset_path: json
dataset_kwargs:
  data_files: {{test: {folder}/questions.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  until: []
  max_gen_toks: 16
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""


@dataclass(frozen=True)
class Outcome:
    """The figures of one tool over the load."""

    efficiency: float
    rate: float
    """Questions a second, from the first request to the last answer."""
    cost: Cost
    max_in_flight: int


def _inspect(tools: Path, folder: Path, url: str, count: int, connections: int) -> list[str]:
    (folder / "run.py").write_text(INSPECT)
    return [str(tools / "inspect/bin/python"), "run.py", url, str(count), str(connections)]


def _deepeval(tools: Path, folder: Path, url: str, count: int, connections: int) -> list[str]:
    (folder / "run.py").write_text(DEEPEVAL)
    python = str(tools / "deepeval/bin/python")
    return [python, "run.py", url, str(count), str(connections), "openai"]


def _deepeval_litellm(
    tools: Path, folder: Path, url: str, count: int, connections: int
) -> list[str]:
    (folder / "run.py").write_text(DEEPEVAL)
    python = str(tools / "deepeval_litellm/bin/python")
    return [python, "run.py", url, str(count), str(connections), "litellm"]


def _lm_eval(tools: Path, folder: Path, url: str, count: int, connections: int) -> list[str]:
    (folder / "questions.yaml").write_text(LM_EVAL_TASK.format(folder=folder))
    lines = [
        json.dumps({"question": f"Question {number}: is it so?", "answer": "entailed"})
        for number in range(count)
    ]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n")
    arguments = {
        "model": "test-model",
        "base_url": f"{url}/chat/completions",
        "num_concurrent": connections,
        "max_retries": 1,
    }
    return [
        *(str(tools / "lm_eval/bin/lm_eval"), "--model", "local-chat-completions"),
        *("--model_args", ",".join(f"{name}={value}" for name, value in arguments.items())),
        *("--tasks", "questions", "--include_path", str(folder), "--apply_chat_template"),
    ]


def _promptfoo(tools: Path, folder: Path, url: str, count: int, connections: int) -> list[str]:
    tests = [
        {"vars": {"n": number}, "assert": [{"type": "equals", "value": "entailed"}]}
        for number in range(count)
    ]
    provider = {"id": "openai:chat:test-model", "config": {"apiBaseUrl": url}}
    config = {
        "prompts": ["Question {{n}}: is it so?"],
        "providers": [provider],
        "tests": tests,
        "sharing": False,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return [
        *(str(tools / "node/node_modules/.bin/promptfoo"), "eval", "-c", "config.json"),
        *("--no-cache", "--no-progress-bar", "--no-table", "-j", str(connections)),
        *("-o", "out.json"),
    ]


@dataclass(frozen=True)
class Tool:
    name: str
    needs: str
    """A file in the tools' folder that exists if the tool is installed."""
    command: Callable[[Path, Path, str, int, int], list[str]]


TOOLS = (
    Tool("deepeval", "deepeval/bin/deepeval", _deepeval),
    Tool("deepeval over litellm", "deepeval_litellm/bin/deepeval", _deepeval_litellm),
    Tool("promptfoo", "node/node_modules/.bin/promptfoo", _promptfoo),
    Tool("lm-eval", "lm_eval/bin/lm_eval", _lm_eval),
    Tool("inspect_ai", "inspect/bin/inspect", _inspect),
)


def measure(tool: Tool, tools: Path, *, questions: int, connections: int, wait: float) -> Outcome:
    """Run one tool once. Raises RuntimeError with its last output if it fails."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        running(wait=wait, reply="entailed") as server,
    ):
        folder = Path(temporary)
        dropped = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
        env = {name: value for name, value in os.environ.items() if name not in dropped} | {
            "HOME": temporary,
            "OPENAI_API_KEY": "x",
            "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
            "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
            "DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE": "600",
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_CONFIG_DIR": temporary,
            "HF_HUB_OFFLINE": "1",
        }
        command = tool.command(tools.resolve(), folder, server.url, questions, connections)
        output = folder / "output.txt"
        cost = process_tree.run(command, cwd=folder, env=env, output=output)
        stats = server.stats()
        if stats["prompts"] < questions:
            words = output.read_text(errors="replace")[-2000:]
            raise RuntimeError(
                f"asked {stats['prompts']} of {questions} questions, exit code "
                f"{cost.returncode}: {words}"
            )
        took = stats["last_answer"] - stats["first_request"]
        ideal = questions * wait / connections
        most = int(stats["max_in_flight"])
        return Outcome(ideal / cost.wall_s, questions / took, cost, most)


def compare(
    tools: Path,
    *,
    questions: int,
    connections: int,
    wait: float,
    show: Callable[[str, str, str], None],
) -> list[Outcome]:
    """Measure and print every installed tool; return the figures."""
    outcomes = []
    for tool in TOOLS:
        if not (tools / tool.needs).exists():
            continue
        try:
            found = measure(tool, tools, questions=questions, connections=connections, wait=wait)
        except RuntimeError as error:
            show(tool.name, "failed", str(error))
            continue
        show(tool.name, "efficiency", f"{found.efficiency:.2f}")
        show(tool.name, "  questions a second", f"{found.rate:.0f}")
        show(tool.name, "  most in flight", f"{found.max_in_flight}")
        show(tool.name, "  CPU a question", f"{found.cost.cpu_s / questions * 1000:.1f} ms")
        show(tool.name, "  peak memory", f"{found.cost.peak_rss_mb:.0f} MB")
        outcomes.append(found)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--wait", type=float, default=0.5)
    given = parser.parse_args()
    compare(
        given.folder,
        questions=given.questions,
        connections=given.connections,
        wait=given.wait,
        show=lambda who, what, value: print(f"{who:22}{what:20}{value}", flush=True),
    )


if __name__ == "__main__":
    main()
