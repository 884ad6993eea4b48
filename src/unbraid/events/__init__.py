"""How far long work is: one type of event, and one channel from data, training and scoring to those who listen."""

from unbraid.events.channel import Listener as Listener
from unbraid.events.channel import for_thread as for_thread
from unbraid.events.channel import is_shown as is_shown
from unbraid.events.channel import listening as listening
from unbraid.events.channel import part_of as part_of
from unbraid.events.channel import showing as showing
from unbraid.events.channel import tell as tell
from unbraid.events.event import Event as Event
