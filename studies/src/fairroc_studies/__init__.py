"""The studies of fairroc: the paper's experiments, fairroc beside other libraries, and the questions we ask ourselves.

``python -m fairroc_studies`` lists them. Nothing here is part of the library; fairroc never imports it, but for the
command ``fairroc reproduce``.
"""
