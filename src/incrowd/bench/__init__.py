"""The papers' experiments as data, and the runner that puts our numbers beside theirs."""
