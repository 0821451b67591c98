"""The messages that the SQL itself raises: what must hold, and what to do."""

SCORE_TYPE = "fairroc: scores must be numbers; cast the column to double"
SCORE = "fairroc: scores must be finite numbers within 1e307, not missing; drop or fill these rows"
GROUP = 'fairroc: a group is missing; fill it in, or refit with missing="group"'
UNKNOWN = "fairroc: the model does not know the group: "
ID = "fairroc: an id is missing; every row needs one"
INTEGER = "fairroc: ids must be integers of 64 bits; cast the column, or write the SQL for text ids"
TEXT = "fairroc: ids must be text; cast the column, or write the SQL for integer ids"
LOST = "fairroc: a row was found in no table; please report it"
