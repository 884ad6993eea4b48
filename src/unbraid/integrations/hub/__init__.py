"""The Hugging Face Hub: files to it in one commit, and files from it, kept in its cache."""

from unbraid.integrations.hub.repository import PushOptions as PushOptions
from unbraid.integrations.hub.repository import push as push
