"""The Hugging Face Hub: files to it in one commit, and files from it, kept in its cache."""

from unbraid.hub.repository import PushOptions as PushOptions
from unbraid.hub.repository import fetch as fetch
from unbraid.hub.repository import push as push
