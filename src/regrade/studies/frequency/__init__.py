"""How does accuracy vary with the share of people who select an image for its class?"""
