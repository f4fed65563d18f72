"""What models do: encoders, losses, the training engine, model folders."""

import os

# threads that wait for each other sleep: on a busy machine spinning threads cost twice the time
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
