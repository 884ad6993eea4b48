"""What classes of the user's own are made of: the text of their modules, and the versions of the packages they use."""

from unbraid.source.kept_modules import keep as keep
from unbraid.source.modules import MAIN as MAIN
from unbraid.source.modules import installed_version as installed_version
from unbraid.source.modules import module_on_disk as module_on_disk
from unbraid.source.own_classes import check_current as check_current
from unbraid.source.own_classes import is_own as is_own
from unbraid.source.own_classes import source_of as source_of
from unbraid.source.own_source import OwnModule as OwnModule
from unbraid.source.own_source import OwnSource as OwnSource
