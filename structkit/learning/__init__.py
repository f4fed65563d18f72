"""What models do: folders, training, encoders, StrAE, the span parser, tables, encoding."""

from structkit.user import keep_torch_apart

keep_torch_apart()  # before anything below imports torch
