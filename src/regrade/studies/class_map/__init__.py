"""The class-map study: which errors, and which conclusions, depend on the map between class spaces."""
