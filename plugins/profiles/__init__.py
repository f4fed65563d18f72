"""One file per profile: what mask-entities masks. Tests: tests/commands/test_mask_entities.py."""
