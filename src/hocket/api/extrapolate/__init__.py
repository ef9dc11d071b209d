"""The traces of a larger job from those of a small one."""
