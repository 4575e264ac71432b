"""Study of audits: how many of the labels that all models agree with are wrong."""
