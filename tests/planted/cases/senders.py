"""Late ranks that send more slowly, one of each plan."""

import senders
from cases import case

for _, name, planted, function in senders.cases(1, len(senders.PLANS)):
    case(name, planted)(function)
