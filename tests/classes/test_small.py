from regrade.classes import cifar_10, digits


def test_cifar_10_has_its_labels_in_order():
    space = cifar_10()
    assert space.ids == (
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    )


def test_cifar_10_is_animals_and_vehicles():
    space = cifar_10()
    assert [space.ids[i] for i in space.group("vehicles")] == ["airplane", "automobile", "ship", "truck"]
    assert sorted([*space.group("animals"), *space.group("vehicles")]) == list(range(10))


def test_a_digit_is_at_its_own_index():
    assert [digits().index(str(i)) for i in range(10)] == list(range(10))
