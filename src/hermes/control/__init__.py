"""Operator actions and questions, one function each; CLI, REST and dashboard all call these."""
