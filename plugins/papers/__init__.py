"""The systems that the papers compare with, for their tables: a pack of plugins of its own.

They may import plugins of `structkit_plugins`; nothing else imports them.
"""
