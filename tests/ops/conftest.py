"""The rate of ONNX's node tests, at the end of a run that had all of them."""


def pytest_terminal_summary(terminalreporter):
    def count(outcome):
        return sum("test_onnx_node_tests" in r.nodeid for r in terminalreporter.stats.get(outcome, []))

    passed = count("passed") + count("xpassed")
    total = passed + count("failed") + count("error") + count("xfailed")
    if total > 1000:
        terminalreporter.write_line(
            f"NumpyExecutionProvider: {passed} of {total} ONNX node tests pass ({passed / total:.1%})"
        )
