"""The transform of a fitted model elsewhere: frames, Spark, SQL, torch, ONNX."""
