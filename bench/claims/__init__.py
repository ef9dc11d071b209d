"""The quantitative claims of the papers that Hocket starts from, each measured again: `hocket bench claims`."""
