"""The stages of a turn, one file each; `pipeline/plan.py` lists them in order."""
