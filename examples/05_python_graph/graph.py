"""Generate, test, fix: a graph written in Python, with plain functions as nodes."""

import rondel

graph = rondel.Graph("fix")

BUGS = ["off by one", "missing import", "typo"]


@graph.node
def coder(inp: rondel.Context) -> dict[str, object]:
    """Fix one bug a round."""
    return {"bugs": BUGS[inp.round - 1 :]}


@graph.node
def tester(inp: rondel.Context) -> dict[str, object]:
    """Score the code by the bugs that are left."""
    bugs = inp.data["bugs"]
    return {"bugs": bugs, "score": 100 - 25 * len(bugs)}


@graph.node
def release(inp: rondel.Context) -> str:
    """Say how good it is."""
    return f"released with a score of {inp.data['score']}"


graph.edge("coder", "tester")
graph.edge("tester", "coder", when=lambda message: message.data["score"] < 100)
graph.edge("tester", "release", when="data.score >= 100")
graph.loop("coder", max_rounds=8)

if __name__ == "__main__":
    print(rondel.run(graph, "a sorting function").output)
