"""The plugins that ship with structkit, installed as the package `structkit_plugins`."""
