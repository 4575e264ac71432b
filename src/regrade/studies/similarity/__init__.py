"""Study of similarity: do models err on the same images?"""
