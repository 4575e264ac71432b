"""All readings there are: each module registers what one kind of result says in words."""
