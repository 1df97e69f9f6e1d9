"""What a run will get wrong, before it runs: measured numbers of a posterior, and the theory."""

from virial.forecast.conditions import Conditions, conditions
from virial.forecast.planner import Plan, plan
from virial.forecast.predict import Prediction, predict

__all__ = ["Conditions", "Plan", "Prediction", "conditions", "plan", "predict"]
