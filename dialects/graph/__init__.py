"""Neural-network operators, one to one with what frameworks say."""
