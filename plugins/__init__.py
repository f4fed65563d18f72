"""The plugins that ship with structkit, installed as the package `structkit_plugins`.

They may import every room of structkit below commands, but not one another.
"""
