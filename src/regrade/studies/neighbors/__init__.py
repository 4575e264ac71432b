"""Which training images are nearest to the images of a test set?"""
