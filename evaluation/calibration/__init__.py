"""Calibration of abstention: questions of our own and the script that fits the threshold.

Belongs here: question files worded for calibration, the fit. Must not come here: any question that
is evaluated on.
"""
