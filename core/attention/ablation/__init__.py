"""Head ablation: the effect of heads on a model's prediction."""
