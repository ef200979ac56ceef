"""One module of checks per lesson; `answers` holds what they share."""
