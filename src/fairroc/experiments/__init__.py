"""Methods of other authors, written anew from their papers, to compare with."""
