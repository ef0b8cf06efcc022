"""litellm's translation of requests, kept in files so that later runs start without litellm.

For a provider that is called directly, litellm determines how a request looks and what a reply
costs. That is data. The first run keeps it in the folder of the answers. A later run with the same
versions and the same environment sends its requests from it, so its first call need not wait for
the import of litellm, which takes seconds. See docs/engine.md.
"""
