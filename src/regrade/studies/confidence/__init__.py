"""Study of confidence: calibration, selective accuracy and conformal sets, also under shift."""
