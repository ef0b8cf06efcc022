"""The analyses of the ToRR paper: levels, contrasts and agreement of scores."""
