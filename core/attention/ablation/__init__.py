"""Head ablation: the prediction of a model without some of its heads."""
